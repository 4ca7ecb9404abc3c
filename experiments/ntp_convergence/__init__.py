"""Do gradient descent, NGD and Adam share one bias?

Thrampoulidis 2024, Figures 4 and 5.
"""
