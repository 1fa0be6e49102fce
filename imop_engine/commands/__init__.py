"""The shell's longer commands, one file each: simulate, learn, frontier."""
