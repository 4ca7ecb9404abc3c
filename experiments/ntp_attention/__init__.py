"""Where does next-token prediction take the weights of self-attention, and which optimizer where?

Li, Huang, Ildiz, Rawat, Oymak 2024.
"""
