import NIOCore
import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

@Suite struct PageStateTests {
    private typealias Reply = Conversation.Reply

    private func server(_ target: PageTarget) -> Reply {
        switch target.url.queryValue("cursor") {
        case nil: Reply(body: #"{"items":[1,2,3],"next_cursor":"a"}"#)
        case "a": Reply(body: #"{"items":[4,5],"next_cursor":"b"}"#)
        default: Reply(body: #"{"items":[6],"next_cursor":null}"#)
        }
    }

    private func text(_ state: String) -> String {
        String(decoding: Base64.decodeForURL(state.utf8) ?? [], as: UTF8.self)
    }

    private func state(_ json: String) -> String { Base64.encodeForURL(Array(json.utf8)) }

    @Test func eachPositionIsResumed() throws {
        let all = ["1", "2", "3", "4", "5", "6"]
        let whole = try Conversation(.plain(.guess))
        whole.read(from: server)
        #expect(whole.items == all)
        var before = 0
        for page in whole.delivered {
            for consumed in 0...page.items.count {
                let rest = try Conversation(.plain(.guess), resuming: page.state(consumed: consumed))
                rest.read(from: server)
                #expect(rest.items == Array(all[(before + consumed)...]), "page \(page.number), \(consumed) consumed")
                #expect(rest.hasEnded && rest.error == nil)
            }
            before += page.items.count
        }
    }

    @Test func stateFollowsTheLastDeliveredPage() throws {
        let talk = try Conversation(Pagination(.guess))
        #expect(
            try Conversation(Pagination(.guess), resuming: talk.traversal.state).read(from: server).items.count == 6)
        talk.read(1, from: server)
        // The second page has been loaded but not delivered.
        #expect(talk.requested.count == 2)
        #expect(
            try Conversation(.plain(.guess), resuming: talk.traversal.state).read(from: server).items == [
                "4", "5", "6",
            ])
        #expect(talk.traversal.state == talk.delivered.last?.state(consumed: 3))
        talk.read(from: server)
        let end = try Conversation(.plain(.guess), resuming: talk.traversal.state).read(from: server)
        #expect(end.items.isEmpty && end.hasEnded && end.requested.isEmpty)
    }

    /// The state does not contain options of other styles, such as `header` here.
    @Test func resumedListHasTheSameState() throws {
        var options = Pagination(.next)
        options.header = "X-Next"
        options.parameter = "p"
        let talk = try Conversation(options)
        talk.read(1) { _ in Reply(body: #"{"items":[1],"next":"https://api.example/list?page=2"}"#) }
        #expect(try Conversation(options, resuming: talk.traversal.state).traversal.state == talk.traversal.state)
    }

    @Test func stateIsCompactJSON() throws {
        let talk = try Conversation(.plain(.guess))
        talk.read(1, from: server)
        let json = text(talk.traversal.state)
        let print = try #require(JSONValue(parsing: json)["f"])
        guard case .string(let print) = print else { return }
        #expect(
            json == #"{"v":1,"f":"\#(print)","n":2,"d":3,"p":{"cursor":"a"},"#
                + #""g":{"style":"cursor","items":"/items","parameter":"cursor","next":"/next_cursor"}}"#)
        #expect(
            talk.traversal.state.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
    }

    @Test func pagesAndOffsetsAndTokensAreResumed() throws {
        for style in [Pagination.Style.page, .offset, .header] {
            let options = Pagination.plain(style) {
                $0.header = "X-N"
                $0.requestHeader = "X-M"
            }
            func serve(_ target: PageTarget) -> Reply {
                let isFirst = target.headerName == nil && ["1", nil].contains(target.url.queryValue(style.rawValue))
                let isSecond = target.headerValue == "t" || ["2", "1"].contains(target.url.queryValue(style.rawValue))
                return isFirst
                    ? Reply(body: "[1]", headers: [("X-N", "t")])
                    : isSecond ? Reply(body: "[2]") : Reply(body: "[]")
            }
            let talk = try Conversation(options)
            talk.read(1) { target in
                let isOffset = style == .offset
                return isOffset ? Reply(body: "[1]") : serve(target)
            }
            let rest = try Conversation(options, resuming: talk.traversal.state)
            rest.read(from: serve)
            #expect(rest.items.first == "2" || style == .offset, "\(style)")
            #expect(rest.requested.first != talk.requested.first || rest.targets.first?.headerValue == "t")
        }
    }

    @Test func secretsAreOmittedAndRestored() throws {
        let first = "https://api.example/list?api_key=s3cret&limit=1"
        let talk = try Conversation(.plain(.next), first)
        talk.read(1) { _ in Reply(body: #"{"items":[1],"next":"/list?limit=1&api_key=s3cret&page=2"}"#) }
        let state = talk.traversal.state
        #expect(!text(state).contains("s3cret") && text(state).contains("page=2"))
        let rest = try Conversation(.plain(.next), first, resuming: state)
        rest.read { _ in Reply(body: #"{"items":[2],"next":null}"#) }
        #expect(rest.requested == ["/list?limit=1&page=2&api_key=s3cret"])
        // A URL with a different secret is still the same list.
        let other = try Conversation(.plain(.next), "https://api.example/list?api_key=other&limit=1", resuming: state)
        other.read { _ in Reply(body: #"{"items":[2],"next":null}"#) }
        #expect(other.requested == ["/list?limit=1&page=2&api_key=other"])
    }

    @Test func missingSecretIsReported() throws {
        let talk = try Conversation(.plain(.next))
        talk.read(1) { _ in Reply(body: #"{"items":[1],"next":"/list?sig=abc&page=2"}"#) }
        #expect(!text(talk.traversal.state).contains("abc"))
        #expect {
            try Conversation(.plain(.next), resuming: talk.traversal.state)
        } throws: {
            ($0 as? NightjarError)?.message
                == "the state omits the query item \"sig\", which may be a secret, and the first request cannot supply "
                + "it; load the list from its first page"
        }
    }

    @Test func stateOfAnotherListIsRejected() throws {
        let talk = try Conversation(.plain(.guess))
        talk.read(1, from: server)
        for url in ["https://api.example/other", "https://api.example/list?x=1", "http://api.example/list"] {
            #expect {
                try Conversation(.plain(.guess), url, resuming: talk.traversal.state)
            } throws: {
                ($0 as? NightjarError)?.message
                    == "the state belongs to another list: the method and URL of the first request must be the same, including the query"
            }
        }
        #expect {
            try Conversation(.plain(.link), resuming: talk.traversal.state)
        } throws: {
            ($0 as? NightjarError)?.message == "the state has style cursor, but the list has style link"
        }
    }

    @Test func pathWithTwoSlashesIsNotAHost() throws {
        let talk = try Conversation(.plain(.next))
        talk.read(1) { _ in Reply(body: #"{"items":[1],"next":"https://api.example//evil.example/x"}"#) }
        let rest = try Conversation(.plain(.next), resuming: talk.traversal.state)
        rest.read { _ in Reply(body: #"{"items":[2],"next":null}"#) }
        #expect(rest.requested == ["//evil.example/x"] && rest.targets.first?.url.origin.host == "api.example")
    }

    @Test func stateForAnotherOriginIsRejected() throws {
        let talk = try Conversation(.plain(.next))
        talk.read(1) { _ in Reply(body: #"{"items":[1],"next":"/list?page=2"}"#) }
        let forged = text(talk.traversal.state).split(separator: "/list?page=2").joined(
            separator: "https://evil.example/x")
        let rest = try Conversation(.plain(.next), resuming: state(forged))
        rest.read { _ in Reply(body: "[]") }
        #expect(rest.error?.kind == .protocol && rest.requested.isEmpty)
    }

    @Test func corruptStateIsRejected() throws {
        let talk = try Conversation(.plain(.guess))
        talk.read(1, from: server)
        let good = text(talk.traversal.state)
        func changed(_ a: String, _ b: String) -> String {
            good.split(separator: a, omittingEmptySubsequences: false).joined(separator: b)
        }
        let bad = [
            "", "x", "===", state("[]"), state("{}"), state(changed(#""n":2"#, #""n":0"#)),
            state(changed(#""n":2"#, #""n":"2""#)),
            state(changed(#""d":3"#, #""d":-1"#)), state(changed(#""d":3"#, #""d":3,"d":4"#)),
            state(changed(#""cursor":"a""#, #""cursor":7"#)), state(changed(#""cursor":"a""#, #""cursor":"""#)),
            state(changed(#"{"cursor":"a"}"#, #"{"page":99999999999999999}"#)),
            state(changed(#""d":3"#, #""d":3,"z":1"#)),
            state(changed(#""style":"cursor""#, #""style":"guess2""#)), state(changed(#""/items""#, #""items""#)),
            state(changed(#"{"cursor":"a"}"#, #"{"url":"http:x"}"#)),
            state(changed(#"{"cursor":"a"}"#, #"{"query":[["a"]]}"#)),
            talk.traversal.state + "A", talk.traversal.state + "=",
        ]
        for text in bad {
            #expect {
                try Conversation(.plain(.guess), resuming: text)
            } throws: {
                ($0 as? NightjarError)?.kind == .invalidArgument
            }
        }
        #expect {
            try Conversation(.plain(.guess), resuming: state(changed(#""v":1"#, #""v":2"#)))
        } throws: {
            ($0 as? NightjarError)?.message == "the state has format 2, but only format 1 is supported"
        }
    }

    @Test func pendingDecisionIsRequestedAgain() throws {
        let talk = try Conversation(.plain(.custom))
        talk.read(1) { _ in Reply(body: "[1,2]") }
        let rest = try Conversation(.plain(.custom), resuming: talk.traversal.state)
        rest.read(1) { _ in Reply(body: "[1,2]") }
        #expect(rest.pages == [[]] && rest.requested == ["/list"])
        rest.perform(try rest.traversal.setNext(.query([("page", "2"), ("token", "s3cret")]))) { _ in Reply(body: "") }
        #expect(text(rest.traversal.state).contains("page") && !text(rest.traversal.state).contains("s3cret"))
    }

    @Test func base64ForURLsIsStrict() {
        for bytes in [[], [0], [255, 254], [1, 2, 3], Array(0...255)] as [[UInt8]] {
            #expect(Base64.decodeForURL(Base64.encodeForURL(bytes).utf8) == bytes)
        }
        for text in ["A", "AB", "AA=", "A A", "+/", "AAAAA"] {
            #expect(Base64.decodeForURL(text.utf8) == nil, "\(text)")
        }
    }
}
