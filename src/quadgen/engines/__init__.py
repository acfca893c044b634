"""What each engine really is: its words, devices and images, and the flags that each of its builds accepts."""
