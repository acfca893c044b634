"""Taking the samples of a measurement: real servers, started and asked in turn."""
