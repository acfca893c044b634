"""What a running server, or its log, says of its speculation: numbers, and what they prove.

Nothing here opens anything: texts and decoded answers go in.
"""
