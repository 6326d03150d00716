"""Biz types in the admin: their list, their form, and the pages of one."""
