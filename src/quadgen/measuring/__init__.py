"""What makes a measurement evidence: two arms of one service, their samples, the verdict, and the row of a ledger."""
