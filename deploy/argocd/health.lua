-- The health of a PodSet or an Xxx, from its conditions. For Argo CD, whose Lua is 5.1.

local function condition(kind, status)
  for _, each in ipairs((obj.status or {}).conditions or {}) do
    if each.type == kind and each.status == (status or "True") then
      return each
    end
  end
end

local function health(status, message)
  return { status = status, message = message }
end

-- It waits for a person, and neither progresses nor fails.
local held = condition("AwaitingApproval") or condition("Paused")
if held then
  return health("Suspended", held.message)
end

-- The conditions are about an earlier spec. Before the first reconcile, it is -1.
local observed = (obj.status or {}).observedGeneration
if observed ~= obj.metadata.generation then
  return health("Progressing", "Waiting for the operator to observe the latest spec")
end

local stalled = condition("Stalled")
if stalled then
  return health("Degraded", stalled.message)
end

local ready = condition("Ready")
if ready then
  return health("Healthy", ready.message)
end

local reconciling = condition("Reconciling")
local unready = condition("Ready", "False")
if unready and not reconciling then
  return health("Degraded", unready.message)
end
return health("Progressing", reconciling and reconciling.message or "")
