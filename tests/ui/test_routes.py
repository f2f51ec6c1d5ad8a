"""The addresses that the app answers beside Streamlit's."""

import asyncio

from dpviz.ui.routes import HOME


def test_home_leads_to_the_front_page_also_below_a_prefix():
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(HOME.app({"type": "http", "method": "GET", "path": "/home", "headers": []}, None, send))
    assert 300 <= sent[0]["status"] < 400
    assert dict(sent[0]["headers"])[b"location"] == b"./"
