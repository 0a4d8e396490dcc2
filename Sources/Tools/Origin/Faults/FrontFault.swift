import Rankings

/// What stands in front of a service and wants to see a browser, as the fronts of 2026 answer.
///
/// Rebuilt from descriptions, since nobody published a recorded page: Cloudflare's documentation ("Detect a Challenge Page
/// response"), the marks by which gallery-dl tells such pages, and the headers that go with them.
struct FrontFault: Sendable {
    enum Kind: String, Sendable {
        case cloudflare
        case old
        case ddosGuard = "ddos-guard"
        case blocked
    }

    let status: Int
    let kind: Kind
    /// Who sends this is let in.
    let lets: String?

    /// Nil for a kind that there is not.
    init?(_ node: JSON) {
        guard let kind = Kind(rawValue: node["kind"]?.string ?? Kind.cloudflare.rawValue) else { return nil }
        self.kind = kind
        status = node["status"]?.number.flatMap { Int(exactly: $0) } ?? 403
        lets = node["lets"]?.string
        guard (400...599).contains(status) else { return nil }
    }

    /// Whether a request is let in.
    func admits(_ request: Request) -> Bool {
        guard let lets else { return false }
        return request.cookies?.contains(lets) == true || request.userAgent == lets
    }

    var response: Response {
        var headers = [
            ("Content-Type", "text/html; charset=UTF-8"),
            ("Cache-Control", "private, max-age=0, no-store, no-cache, must-revalidate, post-check=0, pre-check=0"),
        ]
        switch kind {
        case .cloudflare:
            headers += [
                ("Server", "cloudflare"), ("cf-mitigated", "challenge"), ("CF-RAY", "9a1f0c2b3d4e5f60-NRT"),
                ("Accept-CH", "Sec-CH-UA-Bitness, Sec-CH-UA-Arch, Sec-CH-UA-Full-Version, Sec-CH-UA-Mobile"),
                ("Critical-CH", "Sec-CH-UA-Bitness, Sec-CH-UA-Arch, Sec-CH-UA-Full-Version, Sec-CH-UA-Mobile"),
                ("Cross-Origin-Embedder-Policy", "require-corp"), ("Cross-Origin-Opener-Policy", "same-origin"),
                ("X-Frame-Options", "SAMEORIGIN"),
            ]
        case .old, .blocked: headers += [("Server", "cloudflare"), ("CF-RAY", "9a1f0c2b3d4e5f60-NRT")]
        case .ddosGuard: headers += [("Server", "ddos-guard"), ("Set-Cookie", "__ddg1_=x; Path=/; HttpOnly")]
        }
        return Response(status: status, headers: headers, body: .bytes(Array(page.utf8)))
    }

    private var page: String {
        switch kind {
        case .cloudflare, .old:
            """
            <!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title><meta http-equiv="Content-Type" \
            content="text/html; charset=UTF-8"><meta name="robots" content="noindex,nofollow"></head><body><div \
            class="main-wrapper" role="main"><div class="main-content"><noscript><div class="h2"><span \
            id="challenge-error-text">Enable JavaScript and cookies to continue</span></div></noscript></div></div>\
            <script>(function(){window._cf_chl_opt={cvId:'3',cZone:"origin",cType:'managed',cRay:'9a1f0c2b3d4e5f60'};\
            }());</script></body></html>
            """
        case .ddosGuard:
            """
            <!DOCTYPE html><html><head><title>DDoS-Guard</title></head><body><script \
            src="/.well-known/ddos-guard/js-challenge/index.js"></script></body></html>
            """
        case .blocked:
            """
            <!DOCTYPE html><html class="no-js" lang="en-US"><head><title>Attention Required! | Cloudflare</title><link \
            rel="stylesheet" id="cf_styles-css" href="/cdn-cgi/styles/cf.errors.css"></head><body><div id="cf-wrapper"><div \
            id="cf-error-details"><h1 data-translate="block_headline">Sorry, you have been blocked</h1></div></div></body>\
            </html>
            """
        }
    }
}
