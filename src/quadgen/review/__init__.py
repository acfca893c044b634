"""Two states of a fleet, compared as people review a change: what each host and service gets, loses and restarts."""
