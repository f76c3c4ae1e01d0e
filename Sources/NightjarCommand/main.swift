import NightjarLua

do {
    let script = try Script()
    try script.runFile(CommandLine.arguments[1])
} catch { print(error) }
