-- Exports articles to a CSV file with the standard modules.
--
--   nightjar scripts/examples/lua/modules.lua --output articles.csv --since 2020-01-01
local nightjar = require "nightjar"
local args, csv, env, hash, log, time, url = nightjar.args, nightjar.csv, nightjar.env, nightjar.hash, nightjar.log,
  nightjar.time, nightjar.url

local options = args.parse {
  name = "modules.lua", summary = "Exports the articles of the demo API to a CSV file.",
  { "-o", "--output", "FILE", help = "the output file", required = true },
  { "-s", "--since", "DATE", help = "only articles created since this date" },
  { "-l", "--limit", "N", type = "integer", help = "the maximum number of articles" },
  { "-v", "--verbose", help = "log each article" },
}
if options.verbose then log.set_level "debug" end

local origin = env.get("NIGHTJAR_DEMO_URL", "http://127.0.0.1:8080")
local since = options.since and time.parse(options.since, { offset = "Z" }) or -math.huge
local api = nightjar.client { base_url = url.resolve(origin, "/v1") }

local file <close> = assert(io.open(options.output, "wb"))
local digest = hash.new "sha256"
local put = csv.writer(function(text)
  file:write(text)
  digest:update(text)
end, { columns = { "id", "title", "created", "age" }, safe = true })

local started, count = time.monotonic(), 0
for article in api:paginate "/articles" do
  local created = time.parse(article.created_at)
  if created >= since and count < (options.limit or math.huge) then
    count = count + 1
    log.debug("article", { id = article.id, title = article.title })
    put {
      id = article.id, title = article.title, created = time.format(created, { digits = 0 }),
      age = time.format_duration(time.difference(time.now(), created) // 86400 * 86400),
    }
  end
end
log.info("exported", { articles = count, took = time.format_duration(time.monotonic() - started) })
print(("%d articles in %s, SHA-256 %s"):format(count, options.output, digest:finish()))
