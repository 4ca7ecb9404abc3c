"""Equal learning (Yang, Puli, Ranganath 2025)."""
