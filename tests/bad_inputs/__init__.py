"""Bad inputs for every verb and every file that the program reads, and what each must be answered with."""
