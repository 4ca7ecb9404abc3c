"""When its training strings are first all right, does a network copy already, or only later?"""
