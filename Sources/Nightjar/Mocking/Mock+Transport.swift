import NIOCore
import NightjarHTTP
import NightjarTesting
import NightjarTransport

extension Mock {
    /// Returns the transport that plays the mock. Unmatched requests pass to `network` if the mock allows it.
    func transport(over network: any HTTPTransport, on loop: any EventLoop, base: RequestURL?) -> any HTTPTransport {
        let gate = LoopGate(loop)
        let choose = { [self] (request: ArrivedRequest, exchange: MockExchange) -> MockTransport.ExchangePlan in
            switch self.choose(request, base: base) {
            case .respond(let response): return .play(response.script(to: request))
            case .pass: return .pass
            case .fail(let error): return .refuse(error)
            case .callResponder(let responder, let parameters):
                guard let respond else {
                    return .refuse(NightjarError(.script, "the mock has no responder for the matched route"))
                }
                let weakExchange = Weak(exchange)
                respond(
                    MockRequest(responder, request, parameters) { response in
                        gate.execute {
                            guard let exchange = weakExchange.object else { return }
                            switch response {
                            case .success(let response): exchange.take(.init(response, to: request))
                            case .failure(let error): exchange.take(.refuse(error))
                            }
                        }
                    })
                return .later
            }
        }
        return MockTransport(over: network, on: loop, choose: choose, whenClosed: gate.close)
    }
}

extension MockTransport.ExchangePlan {
    /// The plan for a response of the program. The responses of routes have been checked by ``MockTable``.
    fileprivate init(_ response: MockResponse, to request: ArrivedRequest) {
        if let invalidity = response.fault?.invalidity {
            self = .refuse(NightjarError(.invalidArgument, "the mock response has an invalid fault: \(invalidity)"))
        } else {
            self = .play(response.script(to: request))
        }
    }
}

/// A weak reference, so that a ``MockRequest`` does not retain a cancelled exchange.
private struct Weak: @unchecked Sendable {
    weak var object: MockExchange?

    init(_ object: MockExchange) { self.object = object }
}
