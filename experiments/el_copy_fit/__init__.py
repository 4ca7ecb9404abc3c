"""When a network first gets its training strings right, does it copy already, or only later?"""
