"""Bytes in and out, each once: opening, compression, atomic writing, hardened XML, memory."""
