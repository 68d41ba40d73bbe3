"""The live panel of one pool: watched, driven and travelled through time.

Must not know: the live pool, the verbs. It reads journals, and hands what was clicked, as a line, to whoever opened it.

``Feed`` follows a journal and says what changed, ``Ticker`` says when, ``Board`` is the widget whose page draws it,
``Controls`` are the buttons, ``Dashboard`` puts them together. Only these last three need ipywidgets and anywidget.
"""
