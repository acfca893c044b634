"""What checkpoints are, from their headers alone: heads, vocabularies, and what they take of memory."""
