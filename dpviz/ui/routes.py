"""The addresses that the app answers beside Streamlit's."""

from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.routing import Route

from dpviz.ui import asking, classes
from dpviz.ui.server import ahead
from dpviz.ui.server.first import FirstScreen
from dpviz.ui.server.security import OwnMessages, OwnOrigin, ProfileFilter, SecurityHeaders
from dpviz.ui.server.uploads import SessionLimit

# Streamlit serves the default page at `/` alone; whoever types its name gets it, also behind a proxy's prefix.
HOME = Route("/home", lambda _: RedirectResponse("./"))
ENDED = "Short links have ended: ask the person who gave you this one for the page's own link."
SHORT = Route("/S/{code}", lambda _: PlainTextResponse(ENDED, status_code=410))
ROUTES = (ahead.ROUTE, asking.ROUTE, HOME, SHORT, *classes.ROUTES)
MIDDLEWARE = (SecurityHeaders, OwnOrigin, ProfileFilter, SessionLimit, OwnMessages, FirstScreen)  # outermost first
