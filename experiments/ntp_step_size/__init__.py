"""Is it several next tokens, or the size of its steps, that takes an optimizer from its own norm?

Left open by Thrampoulidis 2024, section 7.
"""
