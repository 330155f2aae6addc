"""An identity provider made of pysaml2 and xmlsec1: reads sign-ins as JSON from standard input, one a line, answers each as a line of JSON on standard output."""

import base64
import json
import os
import sys
import tempfile

from saml2 import BINDING_HTTP_POST, BINDING_HTTP_REDIRECT
from saml2.authn_context import PASSWORD
from saml2.config import IdPConfig
from saml2.saml import NAMEID_FORMAT_EMAILADDRESS, NameID
from saml2.server import Server
from saml2.sigver import get_xmlsec_binary


def answer(asked, folder):
    metadata = os.path.join(folder, "service.xml")
    with open(metadata, "w") as file:
        file.write(asked["service_metadata"])
    server = Server(
        config=IdPConfig().load(
            {
                "entityid": asked["entity_id"],
                "xmlsec_binary": get_xmlsec_binary(),
                "key_file": asked["key_file"],
                "cert_file": asked["certificate_file"],
                "metadata": {"local": [metadata]},
                "service": {
                    "idp": {
                        "endpoints": {"single_sign_on_service": [(asked["sso_url"], BINDING_HTTP_REDIRECT)]},
                        "name_id_format": [NAMEID_FORMAT_EMAILADDRESS],
                        "policy": {"default": {"lifetime": {"minutes": 5}, "attribute_restrictions": None}},
                    }
                },
            }
        )
    )
    # Checks the request against the schema, its age, its destination, and its address for responses against the metadata.
    request = server.parse_authn_request(asked["request"], BINDING_HTTP_REDIRECT)
    arguments = server.response_args(request.message, [BINDING_HTTP_POST])
    binding = arguments.pop("binding")
    response = server.create_authn_response(
        {"mail": [asked["email"]], "givenName": ["Ada"], "sn": ["Lovelace"]},
        userid=asked["email"],
        name_id=NameID(format=NAMEID_FORMAT_EMAILADDRESS, text=asked["email"]),
        authn={"class_ref": PASSWORD, "authn_auth": asked["entity_id"]},
        sign_assertion=True,
        sign_response=asked["is_response_signed"],
        sign_alg="http://www.w3.org/2001/04/xmldsig-more#" + asked["signature_algorithm"],
        digest_alg="http://www.w3.org/2001/04/xmlenc#" + asked["digest_algorithm"],
        **arguments,
    )
    return {"issuer": request.message.issuer.text, "binding": binding, "response": base64.b64encode(str(response).encode()).decode()}


with tempfile.TemporaryDirectory() as folder:
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), folder)), flush=True)
