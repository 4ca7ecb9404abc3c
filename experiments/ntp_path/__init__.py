"""Where does the best decoder of a ball go as the ball grows?

Thrampoulidis 2024, Theorem 1.
"""
