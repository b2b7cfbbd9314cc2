"""Images that documents name, below one directory of the server."""

from __future__ import annotations

from pathlib import Path

__all__ = ["IMAGE_TYPES", "find_image"]

IMAGE_TYPES = {
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
}
"""Types of images by extension. SVG is left out: it can hold scripts."""


def find_image(directory: Path, doc: str, name: str) -> Path | None:
    """Return the image that a document names, or None if the directory has none.

    The name is looked up below the directory itself, in the folder of the document, and in a folder
    with the document's name. It may lack its extension, as in JATS. No file outside the directory
    is returned, not even through a link.
    """
    if not name or "\0" in name or "\\" in name or ":" in name:
        return None
    try:
        root = directory.resolve(strict=True)
        for folder in (root, (root / doc).parent, root / doc):
            for ending in ("", *IMAGE_TYPES):
                found = (folder / (name + ending)).resolve()
                if (
                    found.suffix.lower() in IMAGE_TYPES
                    and found.is_relative_to(root)
                    and found.is_file()
                ):
                    return found
    except OSError:  # such as a name that is too long
        pass
    return None
