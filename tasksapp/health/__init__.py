"""Health: what load balancers and monitors ask. Mount it with ``include("tasksapp.health.urls")``."""
