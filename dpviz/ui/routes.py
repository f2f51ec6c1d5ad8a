"""The addresses that the app answers beside Streamlit's."""

from starlette.responses import RedirectResponse
from starlette.routing import Route

from dpviz.ui import asking, classes
from dpviz.ui.export import short
from dpviz.ui.server import ahead
from dpviz.ui.server.first import FirstScreen
from dpviz.ui.server.security import OwnMessages, OwnOrigin, ProfileFilter, SecurityHeaders
from dpviz.ui.server.uploads import SessionLimit

# Streamlit serves the default page at `/` alone; whoever types its name gets it, also behind a proxy's prefix.
HOME = Route("/home", lambda _: RedirectResponse("./"))
ROUTES = (ahead.ROUTE, asking.ROUTE, HOME, short.ROUTE, *classes.ROUTES)
MIDDLEWARE = (SecurityHeaders, OwnOrigin, ProfileFilter, SessionLimit, OwnMessages, FirstScreen)  # outermost first
