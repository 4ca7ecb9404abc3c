"""How fast are the limits of Thrampoulidis 2024 reached, and which method stalls?"""
