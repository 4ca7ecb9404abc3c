"""How fast the limits of linear next-token prediction are reached, and where methods stall."""
