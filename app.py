"""The entrance: `streamlit run app.py` serves dpviz with its security headers."""

import sys
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from streamlit.runtime.scriptrunner import get_script_run_ctx

sys.path.insert(0, str(Path(__file__).parent))

from dpviz.ui import ahead, asking
from dpviz.ui.headers import SecurityHeaders

app = st.App("dpviz/ui/main.py", routes=[ahead.ROUTE, asking.ROUTE], middleware=[Middleware(SecurityHeaders)])

# Run as a script by a test there is no server around: show the pages directly.
if get_script_run_ctx(suppress_warning=True) is not None:
    from dpviz.ui.main import run

    run()
