-- Log points of sonde: values of a running program at the ends of its source lines. For Neovim 0.7 and later. Copy this
-- file to ~/.config/nvim/plugin/.
--
--   :SondeLog                        log the variables at the cursor's line
--   :SondeLog left, order->number    log expressions
--   :SondeStop                       stop the log point at the cursor's line, or clear it if it has ended
--   :SondeStopAll
--   :SondeValues                     show all values
--
-- Log points need root. If you may run sonde by sudo: vim.g.sonde_log_command = { "sudo", "-n", "/usr/bin/sonde" }.
-- vim.g.sonde_log_options = { seconds = 60, limit = 100, max = 1000, program = "/srv/shop" } changes when log points end,
-- the values in a second, and the program.
local namespace = vim.api.nvim_create_namespace("sonde-log-points")
local most_values = 10000 -- lines of :SondeValues
local points = {} -- by number, as the server sends them
local client, pending -- the client's number; functions that wait for its start
local list -- the buffer of :SondeValues

local function list_buffer()
  if not (list and vim.api.nvim_buf_is_valid(list)) then
    list = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(list, "sonde-values")
  end
  return list
end

local function add_values(lines)
  if #lines == 0 then return end
  local buffer = list_buffer()
  local count = vim.api.nvim_buf_line_count(buffer)
  local is_empty = count == 1 and vim.api.nvim_buf_get_lines(buffer, 0, 1, false)[1] == ""
  vim.api.nvim_buf_set_lines(buffer, is_empty and 0 or count, -1, false, lines)
  local extra = vim.api.nvim_buf_line_count(buffer) - most_values
  if extra > 0 then vim.api.nvim_buf_set_lines(buffer, 0, extra, false, {}) end
end

local function show(point)
  local buffer = vim.uri_to_bufnr(point.uri)
  local before = points[point.id]
  points[point.id] = point.state ~= "removed" and point or nil
  local place = vim.fn.fnamemodify(vim.uri_to_fname(point.uri), ":t") .. ":" .. (point.line + 1)
  local lines = {}
  for _, one in ipairs(point.lines) do
    table.insert(lines, ("%s %s[%d] %s %s"):format(os.date("%H:%M:%S", math.floor(one.time / 1e9)), one.name, one.pid, place, one.text))
  end
  if point.omitted > 0 then table.insert(lines, place .. ": " .. point.omitted .. " more values") end
  if point.reason and not (before and before.reason) then
    table.insert(lines, place .. ": " .. point.reason:gsub("\n", " "))
    if point.cost ~= "" then table.insert(lines, place .. ": " .. point.cost) end
  end
  add_values(lines)
  if not vim.api.nvim_buf_is_loaded(buffer) then return end
  vim.api.nvim_buf_del_extmark(buffer, namespace, point.id)
  if point.state == "removed" or point.line >= vim.api.nvim_buf_line_count(buffer) then return end
  vim.api.nvim_buf_set_extmark(buffer, namespace, point.line, 0, {
    id = point.id,
    virt_text = { { "  " .. point.label, point.failed and "WarningMsg" or "Comment" } },
    virt_text_pos = "eol",
    hl_mode = "combine",
  })
end

local function clear()
  for _, point in pairs(points) do
    local buffer = vim.uri_to_bufnr(point.uri)
    if vim.api.nvim_buf_is_loaded(buffer) then vim.api.nvim_buf_del_extmark(buffer, namespace, point.id) end
  end
  points, client, pending = {}, nil, nil
end

-- Calls the function with the client when it has started.
local function with_client(run)
  local known = client and vim.lsp.get_client_by_id(client)
  if known and not pending then return run(known) end
  if pending then return table.insert(pending, run) end
  pending = { run }
  local command = vim.deepcopy(vim.g.sonde_log_command or { "sonde" })
  vim.list_extend(command, { "lsp", "--log-points" })
  client = (vim.lsp.start_client or vim.lsp.start)({
    name = "sonde-log-points",
    cmd = command,
    root_dir = vim.fn.getcwd(),
    init_options = vim.tbl_extend("keep", { inlayHints = false }, vim.g.sonde_log_options or {}),
    handlers = { ["sonde/logPoint"] = function(_, point) show(point) end },
    on_init = function(started)
      local waiting = pending
      pending = nil
      for _, one in ipairs(waiting or {}) do one(started) end
    end,
    on_exit = vim.schedule_wrap(clear),
  })
  if not client then pending = nil end
end

local function execute(command, argument)
  local buffer = vim.api.nvim_get_current_buf()
  with_client(function(started)
    vim.lsp.buf_attach_client(buffer, started.id) -- the server follows the text's changes
    local request = { "workspace/executeCommand", { command = command, arguments = { argument } }, function(problem)
      if problem then vim.notify("sonde: " .. problem.message, vim.log.levels.ERROR) end
    end, buffer }
    if vim.fn.has("nvim-0.11") == 1 then
      started:request(unpack(request))
    else
      started.request(unpack(request))
    end
  end)
end

local function here()
  return { uri = vim.uri_from_bufnr(0), line = vim.api.nvim_win_get_cursor(0)[1] - 1 }
end

vim.api.nvim_create_user_command("SondeLog", function(command)
  execute("sonde.logPoint.start", vim.tbl_extend("error", here(), { expressions = command.args }))
end, { nargs = "*", desc = "Log variables or expressions at this line" })
vim.api.nvim_create_user_command("SondeStop", function() execute("sonde.logPoint.stop", here()) end, { desc = "Stop the log point at this line" })
vim.api.nvim_create_user_command("SondeStopAll", function() execute("sonde.logPoint.stopAll", vim.empty_dict()) end, { desc = "Stop all log points" })
vim.api.nvim_create_user_command("SondeValues", function() vim.cmd("sbuffer " .. list_buffer()) end, { desc = "Show all logged values" })
