"""Optima of the programs of a folder by SCIP, on the system with SOS1 pairs: what it proves goes to truth.json there.

    python3 scip.py DIR [NAME ...]          (needs pyscipopt; SECONDS a program, from the environment, 300 by default)
"""
import json, os, sys, time
from pyscipopt import Model, quicksum


def solve(path, limit=float(os.environ.get('SECONDS', 300))):
    p = json.load(open(path + '.json'))
    nonneg = 'in nonneg' in open(path + '.blv').read()
    nx, ny, m, k = len(p['lo']), len(p['q']), len(p.get('b', [])), len(p.get('e', []))
    at = lambda key, i, j: p[key][i][j] if key in p else 0
    M = Model(); M.hideOutput(); M.setParam('limits/gap', 1e-6); M.setParam('limits/time', limit)
    kind = 'I' if 'integer in box' in open(path + '.blv').read() else 'C'
    x = [M.addVar(lb=p['lo'][j], ub=p['hi'][j], vtype=kind) for j in range(nx)]
    for row, side in zip(p.get('U', []), p.get('u', [])): M.addCons(quicksum(v * a for v, a in zip(row, x)) <= side)
    y = [M.addVar(lb=0 if nonneg else None) for j in range(ny)]
    s, l = [M.addVar(lb=0) for i in range(m)], [M.addVar(lb=0) for i in range(m)]
    w = [M.addVar(lb=0) for j in range(ny)] if nonneg else []
    n = [M.addVar(lb=None) for i in range(k)]
    for i in range(m):
        M.addCons(quicksum(at('A', i, j) * x[j] for j in range(nx)) + quicksum(p['B'][i][j] * y[j] for j in range(ny)) + s[i] == p['b'][i])
    for i in range(k):
        M.addCons(quicksum(at('D', i, j) * x[j] for j in range(nx)) + quicksum(p['E'][i][j] * y[j] for j in range(ny)) == p['e'][i])
    for j in range(ny):
        M.addCons(quicksum(at('Q', j, i) * y[i] for i in range(ny)) + quicksum(at('P', i, j) * x[i] for i in range(nx)) + p['q'][j]
                  + quicksum(p['B'][i][j] * l[i] for i in range(m)) + quicksum(p['E'][i][j] * n[i] for i in range(k)) == (w[j] if nonneg else 0))
    for a, b in list(zip(s, l)) + list(zip(y, w)):
        M.addConsSOS1([a, b])
    f = quicksum(p['c'][j] * x[j] for j in range(nx)) if 'c' in p else 0
    if 'd' in p: f += quicksum(p['d'][j] * y[j] for j in range(ny))
    quad = [(v, a[i], a[j]) for key, a in (('R', x), ('S', y)) if key in p for i, r in enumerate(p[key]) for j, v in enumerate(r) if v]
    if quad: f += quicksum(0.5 * v * a * b for v, a, b in quad)
    if 'T' in p: f += quicksum(v * x[i] * y[j] for i, r in enumerate(p['T']) for j, v in enumerate(r) if v)
    t = M.addVar(lb=None)
    M.addCons(t >= f); M.setObjective(t)
    start = time.process_time(); M.optimize(); took = time.process_time() - start
    return M.getObjVal() if M.getNSols() else None, M.getDualbound(), M.getStatus(), M.getNTotalNodes(), took


if __name__ == '__main__':
    D, names = sys.argv[1], sys.argv[2:]
    every = sorted(f[:-4] for f in os.listdir(D) if f.endswith('.blv') and (not names or any(f.startswith(a) for a in names)))
    file = os.path.join(D, 'truth.json')
    truth = json.load(open(file)) if os.path.exists(file) else {}
    for name in every:
        F, bound, status, nodes, took = solve(os.path.join(D, name))
        print(f'{name}: {F} >= {bound}, {status}, {nodes} nodes, {took:.2f} s', flush=True)
        if status in ('optimal', 'gaplimit'): truth[name] = F
    json.dump(truth, open(file, 'w'), indent=1)
