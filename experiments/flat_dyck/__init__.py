"""Does the flattest masked language model of balanced brackets transfer?

Liu, Xie, Li, Ma 2023, section 6 and appendix D.
"""
