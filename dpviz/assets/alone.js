// A page of a published site that is asked for its picture alone says so before it is drawn: nothing else is seen first.

if (new URLSearchParams(location.search).has("embed")) document.documentElement.dataset.dpvizEmbed = "";
