"""The timeout centre: a Django app of jobs that are called back when they are due."""
