"""Redis Cluster: which node has a key, connections that belong to a key, and a client that sends each command there.

redis-py's own cluster client is not used: it follows ASK, under which a script of one key runs where none of its data
is, and it has no pool of connections for kombu.
"""

from delayhub.redis_cluster.cluster_client import ClusterClient, client_of, servers_of
from delayhub.redis_cluster.cluster_map import Address, ClusterMap
from delayhub.redis_cluster.cluster_pool import ClusterPool, slot_of_key
from delayhub.redis_cluster.cluster_url import cluster_pool, is_cluster_url
from delayhub.redis_cluster.refusals import NotExecuted, QueuesApart
