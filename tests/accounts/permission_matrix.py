"""What each role may do, written down by hand from the decisions (not from the code).

One line per module: what owner, admin, network_admin, auditor and user may do there.
`C` create, `R` read, `U` update, `D` delete.
"""

from typing import Final

EXPECTED: Final = {
    "networks": ("CRUD", "CRUD", "CRUD", "R", ""),
    "peers": ("CRUD", "CRUD", "R", "R", ""),
    "remote_jobs": ("CRUD", "CRUD", "", "R", ""),
    "groups": ("CRUD", "CRUD", "CRUD", "R", ""),
    "settings": ("CRUD", "CRUD", "R", "R", ""),
    "accounts": ("CRUD", "R", "R", "R", ""),
    "dns": ("CRUD", "CRUD", "CRUD", "R", ""),
    "nameservers": ("CRUD", "CRUD", "CRUD", "R", ""),
    "events": ("CRUD", "CRUD", "R", "R", ""),
    "policies": ("CRUD", "CRUD", "CRUD", "R", ""),
    "routes": ("CRUD", "CRUD", "CRUD", "R", ""),
    "users": ("CRUD", "CRUD", "R", "R", ""),
    "setup_keys": ("CRUD", "CRUD", "R", "R", ""),
    "pats": ("CRUD", "CRUD", "CRUD", "R", ""),
    "identity_providers": ("CRUD", "CRUD", "R", "R", ""),
    "services": ("CRUD", "CRUD", "", "R", ""),
}

ROLES: Final = ("owner", "admin", "network_admin", "auditor", "user")

PUBLIC: Final = "public"
"""Needs no credentials."""

ANYBODY: Final = "anybody"
"""Any active user; what they see or may do is decided object by object."""

OWN: Final = "own"
"""Every user for what is theirs."""

RESOURCES: Final = """
/api/access-tests/{accessTestId}                  policies
/api/dns/nameservers/{nsgroupId}                  nameservers
/api/dns/zones/{zoneId}                           dns
/api/dns/zones/{zoneId}/records/{recordId}        dns
/api/events/subscriptions/{subscriptionId}        events
/api/groups/{groupId}                             groups
/api/networks/{networkId}                         networks
/api/networks/{networkId}/resources/{resourceId}  networks
/api/networks/{networkId}/routers/{routerId}      networks
/api/policies/{policyId}                          policies
/api/posture-checks/{postureCheckId}              policies
/api/routes/{routeId}                             routes
/api/setup-keys/{keyId}                           setup_keys
"""
"""Paths of an object, and the module whose letters let one read, change and delete it,
and list and create such objects one step above."""

ENDPOINTS: Final = """
GET     /api/access/explain                                 policies R
GET     /api/access/graph                                   policies R
GET     /api/accounts                                       accounts R
GET     /api/accounts/{accountId}                           settings R
PUT     /api/accounts/{accountId}                           settings U
GET     /api/config                                         settings R
GET     /api/config/schema                                  settings R
GET     /api/dns/explain                                    dns R
GET     /api/dns/lint                                       dns R
GET     /api/dns/settings                                   dns R
PUT     /api/dns/settings                                   dns U
GET     /api/dns/zones/{zoneId}/zonefile                    dns R
PUT     /api/dns/zones/{zoneId}/zonefile                    dns U
GET     /api/docs                                           public
GET     /api/events                                         events R
GET     /api/events/audit                                   events R
GET     /api/events/audit/keys                              events R
GET     /api/events/audit/proof/consistency                 events R
GET     /api/events/audit/proof/inclusion                   events R
GET     /api/events/audit/proof/leaves                      events R
GET     /api/events/audit/summary                           events R
GET     /api/events/audit/tree-heads                        events R
GET     /api/events/audit/tree-heads/latest                 events R
GET     /api/events/audit/{event_id}                        events R
POST    /api/events/audit/{event_id}/revert                  events R
GET     /api/events/network-traffic                         events R
POST    /api/events/network-traffic                         events C
GET     /api/events/network-traffic/summary                 events R
GET     /api/events/proxy                                   events R
POST    /api/events/proxy                                   events C
GET     /api/events/proxy/summary                           events R
GET     /api/events/subscriptions/{subscriptionId}/dead-letters  events R
POST    /api/events/subscriptions/{subscriptionId}/replay   events U
DELETE  /api/events/subscriptions/{subscriptionId}/replay   events U
GET     /api/events/subscriptions/{subscriptionId}/state    events R
POST    /api/events/subscriptions/{subscriptionId}/secret   events U
POST    /api/events/subscriptions/{subscriptionId}/test     events U
GET     /api/groups/{groupId}/usage                         groups R
GET     /api/identity-providers                             identity_providers R
GET     /api/identity-providers/{idpId}                     identity_providers R
GET     /api/instance                                       public
GET     /api/instance/version                               anybody
GET     /api/integrations/event-streaming                   events R
GET     /api/locations/countries                            anybody
GET     /api/locations/countries/{country}/cities           anybody
GET     /api/networks/resources                             networks R
GET     /api/networks/routers                               networks R
GET     /api/peers                                          anybody
GET     /api/peers/{peerId}                                 anybody
PUT     /api/peers/{peerId}                                 peers U
DELETE  /api/peers/{peerId}                                 peers D
GET     /api/peers/{peerId}/accessible-peers                anybody
GET     /api/peers/{peerId}/dns                             dns R
GET     /api/peers/{peerId}/jobs                            remote_jobs R
POST    /api/peers/{peerId}/jobs                            remote_jobs C
GET     /api/peers/{peerId}/jobs/{jobId}                    remote_jobs R
GET     /api/reverse-proxies/clusters                       services R
GET     /api/reverse-proxies/domains                        services R
GET     /api/reverse-proxies/services                       services R
POST    /api/setup                                          public
GET     /api/users                                          anybody
POST    /api/users                                          users C
GET     /api/users/{userId}                                 anybody
PUT     /api/users/{userId}                                 users U
DELETE  /api/users/{userId}                                 users D
POST    /api/users/{userId}/approve                         users U
POST    /api/users/{userId}/invite                          users U
PUT     /api/users/{userId}/password                        own
DELETE  /api/users/{userId}/reject                          users D
GET     /api/users/{userId}/tokens                          own
POST    /api/users/{userId}/tokens                          own
GET     /api/users/{userId}/tokens/{tokenId}                own
DELETE  /api/users/{userId}/tokens/{tokenId}                own
GET     /api/users/current                                  anybody
GET     /api/users/invites                                  users R
POST    /api/users/invites                                  users C
GET     /api/users/invites/{inviteId}                       public
DELETE  /api/users/invites/{inviteId}                       users D
POST    /api/users/invites/{inviteId}/regenerate            users U
POST    /api/users/invites/{inviteToken}/accept             public
"""
"""Method and path of all others, and who may: module and letter, or a word."""

ADMIN_MODELS: Final = """
access.invite               users        CRD
access.policy               policies     CRD
access.policyrule           policies     R
access.posturecheck         policies     CRD
accesstests.accesstest      policies     CRD
access.route                routes       CRD
access.router               networks     CRD
access.setupkey             setup_keys   CRD
access.userautogroup        users        R
accounts.accesstoken        own          CRD
accounts.account            accounts     R
accounts.user               users        CRD
auth.group                  nobody       CRD
control.proxytoken          services     CRD
delivery.deadletter         events       R
delivery.subscription       events       CRD
dns.dnssettings             dns          R
dns.nameservergroup         nameservers  CRD
dns.record                  dns          CRD
dns.zone                    dns          CRD
events.auditevent           events       R
events.proxyentry           events       R
events.trafficevent         events       R
groups.group                groups       CRD
inventory.network           networks     CRD
inventory.networkresource   networks     CRD
inventory.peer              peers        CRD
"""
"""Models of the admin site, who may (as above), and for which letters there are pages."""

ADMIN_PAGES: Final = """
admin:index         anybody
admin:search        anybody
admin-dns-explain   dns R
admin-dns-lint      dns R
admin-reach         policies R
admin-reach-names   policies R
admin-graph         policies R
admin-metrics       events R
admin-first-steps   settings U
admin-audit-revert  events R
admin-saved         peers R
admin-compare       settings R
admin-log-level     events U
admin:control_netmap   peers R
admin:control_jobs     remote_jobs R
admin:delivery_sending  events R
admin-dns-peer      dns R
"""
"""Other pages of the admin site, and who may, of those who may sign in there at all."""
