"""GGUF headers: read from any source of bytes, whatever is in them."""
