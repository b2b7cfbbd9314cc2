"""Bytes in and out, each once: opening, compression, atomic writing, sizes of memory."""
