"""Settings of Celery's with a value that is not their default: tests compare both brokers with each of them set."""

from __future__ import annotations

from typing import Any

from kombu import Exchange, Queue

#: Of messages, of their queues, and of how they are published.
OF_MESSAGES: dict[str, Any] = {
    "task_annotations": {"shop.close": {"priority": 7}},
    "task_compression": "zlib",
    "task_create_missing_queue_exchange_type": "topic",
    "task_create_missing_queue_type": "quorum",
    "task_create_missing_queues": False,
    "task_default_delivery_mode": 1,
    "task_default_exchange": "shop",
    "task_default_exchange_type": "topic",
    "task_default_priority": 5,
    "task_default_queue": "jobs",
    "task_default_queue_type": "quorum",
    "task_default_routing_key": "jobs.new",
    "task_ignore_result": True,
    "task_inherit_parent_priority": True,
    "task_publish_retry": False,
    "task_publish_retry_policy": {"max_retries": 1, "interval_start": 0, "interval_max": 2, "interval_step": 0.1},
    "task_queue_max_priority": 10,
    "task_queues": [Queue("celery", Exchange("own"), routing_key="own")],
    "task_routes": {"shop.close": {"queue": "orders"}},
    "task_send_sent_event": True,
    "task_serializer": "yaml",
    "task_soft_time_limit": 11,
    "task_time_limit": 12,
}
#: Of a task, which its worker reads there.
OF_TASKS: dict[str, Any] = {
    "task_acks_on_failure": False,
    "task_acks_on_failure_or_timeout": False,
    "task_acks_on_timeout": False,
    "task_default_rate_limit": "10/s",
    "task_reject_on_worker_lost": True,
    "task_retry_on_worker_lost": True,
    "task_store_eager_result": True,
    "task_store_errors_even_if_ignored": True,
    "task_track_started": True,
}
#: Of connections.
OF_CONNECTIONS: dict[str, Any] = {
    "broker_connection_timeout": 7,
    "broker_failover_strategy": "shuffle",
    "broker_host": "elsewhere",
    "broker_login_method": "PLAIN",
    "broker_password": "secret",
    "broker_pool_limit": 3,
    "broker_port": 6380,
    "broker_read_url": "{}://reader:6381/2",
    "broker_url": "{}://other:6382/3",
    "broker_use_ssl": {"ssl_ca_certs": "/etc/ca.pem"},
    "broker_user": "shop",
    "broker_vhost": "4",
    "broker_write_url": "{}://writer:6383/5",
}
#: Of a worker, which it takes over when it is made.
OF_WORKERS: dict[str, Any] = {
    "worker_autoscaler": "celery.worker.autoscale:Other",
    "worker_concurrency": 7,
    "worker_disable_rate_limits": True,
    "worker_lost_wait": 3.0,
    "worker_max_memory_per_child": 100_000,
    "worker_max_tasks_per_child": 9,
    "worker_pool": "threads",
    "worker_pool_putlocks": False,
    "worker_pool_restarts": True,
    "worker_pool_start_method": "spawn",
    "worker_prefetch_multiplier": 2,
    "worker_send_task_events": True,
    "worker_timer": "kombu.asynchronous.timer:Other",
    "worker_timer_precision": 0.5,
}
#: Of what a worker's consumer does when it begins.
OF_CONSUMERS: dict[str, Any] = {
    "broker_connection_retry": False,
    "broker_connection_retry_on_startup": False,
    "worker_direct": True,
    "worker_enable_remote_control": False,
}
#: Celery's own code alone reads these, and it is the same on every broker.
OF_CELERY_ALONE: dict[str, Any] = {
    "broker_channel_error_retry": True,
    "broker_heartbeat": 33,
    "broker_heartbeat_checkrate": 4.0,
    "broker_native_delayed_delivery_queue_type": "classic",
    "broker_pool_acquire_timeout": 5,
    "task_allow_error_cb_on_chord_header": True,
    "task_eager_propagates": True,
    "task_remote_tracebacks": True,
    "task_repr_maxlevels": 5,
    "worker_agent": "shop.agents:Agent",
    "worker_consumer": "shop.consumers:Consumer",
    "worker_detect_quorum_queues": False,
    "worker_enable_prefetch_count_reduction": False,
    "worker_enable_soft_shutdown_on_idle": True,
    "worker_hijack_root_logger": False,
    "worker_log_color": True,
    "worker_log_datefmt": "%H:%M",
    "worker_log_format": "%(message)s",
    "worker_proc_alive_timeout": 9.0,
    "worker_redirect_stdouts": False,
    "worker_redirect_stdouts_level": "INFO",
    "worker_soft_shutdown_timeout": 2.0,
    "worker_state_db": "state",
    "worker_task_log_datefmt": "%H:%M",
    "worker_task_log_format": "%(message)s",
}
