"""Routes of the coin's accounts."""

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.api.linking import add_link_routes
from redpacket.platform.http.api import Api

routes = Api()
add_link_routes(routes, ProviderName("coin"))
