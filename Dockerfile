# The assessment tool in a container. See docs/howto/deploy-assessment.md.
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
COPY examples/crossings ./examples/crossings
COPY examples/handbook ./examples/handbook
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN python -m pip install --no-cache-dir "$(echo /wheels/foveal-*.whl)[assess]"
# Overridden in examples/deploy/compose.yaml: whoever owns the campaign's directory.
USER 1000:1000
WORKDIR /data
EXPOSE 8642
# SIGTERM ends the server after the requests under way.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD python -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8642/healthz')"
ENTRYPOINT ["foveal", "assess"]
CMD ["--help"]
