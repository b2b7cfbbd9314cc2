"""Bytes in and out: opening, compression, atomic writing, hardened XML."""
