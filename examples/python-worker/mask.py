"""Takes secrets out of what a run says. A secret that is split over two writes is found too."""

import base64
import json
from urllib.parse import quote

MASK = b"***"


def forms_of(secrets):
    """Each secret as it is, and as it looks inside JSON, an address and Base64; the longest first."""
    forms = set()
    for secret in secrets:
        raw = secret.encode()
        forms.update({raw, json.dumps(secret)[1:-1].encode(), json.dumps(secret, ensure_ascii=False)[1:-1].encode()})
        forms.update({quote(secret, safe="").encode(), base64.b64encode(raw), base64.urlsafe_b64encode(raw)})
    forms.discard(b"")
    return sorted(forms, key=len, reverse=True)


def mask_text(text, forms):
    raw = text.encode(errors="replace")
    for form in forms:
        raw = raw.replace(form, MASK)
    return raw.decode(errors="replace")


class StreamMask:
    """One stream of bytes. It keeps back an end that may be the beginning of a secret until more has come."""

    def __init__(self, forms):
        self._forms = forms
        self._kept = b""

    def write(self, chunk):
        if not self._forms:
            return chunk
        text = self._kept + chunk
        for form in self._forms:
            text = text.replace(form, MASK)
        keep = self._length_to_keep(text)
        self._kept = text[len(text) - keep :]
        return text[: len(text) - keep]

    def end(self):
        kept, self._kept = self._kept, b""
        return kept

    def _length_to_keep(self, text):
        longest = min(len(text), len(self._forms[0]) - 1)
        for length in range(longest, 0, -1):
            tail = text[-length:]
            if any(len(form) > length and form.startswith(tail) for form in self._forms):
                return length
        return 0
