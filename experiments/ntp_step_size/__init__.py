"""What takes an optimizer away from its own norm: several next tokens, or the size of its steps?

Left open by Thrampoulidis 2024, section 7.
"""
