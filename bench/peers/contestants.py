"""Ways to the hypergradient of the experiment. Each is a class with `name`,
made from an instance, whose call at x gives F and the gradient; a call after
the first may be warm. What a package can keep between calls, it keeps."""
import numpy as np

from experiment import DX, Hand

INFINITE = 1e30


class HandWritten(Hand):
    name = "hand: Q factorized once, daqp, Schur complement"


class DaqpKKT:
    name = "daqp, dense KKT adjoint"

    def __init__(self, instance):
        import daqp
        self.instance, self.model = instance, daqp.Model()
        self.ready = False

    def __call__(self, x):
        t, q = self.instance, self.instance.linear(x)
        if self.ready:
            self.model.update(f=q)
        else:
            self.model.setup(t.Q, q, t.A, t.b, np.full(t.dh, -INFINITE))
            self.ready = True
        _, _, flag, info = self.model.solve()
        if flag != 1:
            raise RuntimeError(f"daqp ended with {flag}")
        y, _, p = t.kkt(q, np.flatnonzero(info["lam"] > 0), t.grad_y)
        return t.value(x, y), t.grad_x(x, p)


class Proxsuite:
    name = "proxsuite, its own adjoint"

    def __init__(self, instance):
        import proxsuite
        self.dense, self.instance, self.qp = proxsuite.proxqp.dense, instance, None
        self.warm = proxsuite.proxqp.InitialGuess.WARM_START_WITH_PREVIOUS_RESULT

    def __call__(self, x):
        t, q = self.instance, self.instance.linear(x)
        if self.qp is None:
            self.qp = self.dense.QP(t.dy, 0, t.dh)
            self.qp.settings.eps_abs, self.qp.settings.eps_rel = 1e-9, 0
            self.qp.init(t.Q, q, None, None, t.A, np.full(t.dh, -INFINITE), t.b)
        else:
            self.qp.settings.initial_guess = self.warm
            self.qp.update(g=q)
        self.qp.solve()
        y = np.array(self.qp.results.x)
        loss = np.concatenate([t.grad_y(y), np.zeros(t.dh)])
        self.dense.compute_backward(self.qp, loss, 1e-9, 1e-9, 1e-9)
        return t.value(x, y), t.grad_x(x, np.array(self.qp.model.backward_data.dL_dg))


class Piqp:
    name = "piqp, dense KKT adjoint"

    def __init__(self, instance):
        import piqp
        self.instance, self.solver, self.ready = instance, piqp.DenseSolver(), False
        self.solver.settings.eps_abs = self.solver.settings.eps_rel = 1e-10

    def __call__(self, x):
        t, q = self.instance, self.instance.linear(x)
        if self.ready:
            self.solver.update(c=q)
        else:
            self.solver.setup(t.Q, q, None, None, t.A, np.full(t.dh, -np.inf), t.b, None, None)
            self.ready = True
        self.solver.solve()
        y = np.array(self.solver.result.x)
        slack, z = t.b - t.A @ y, np.array(self.solver.result.z_u)
        y, _, p = t.kkt(q, np.flatnonzero(z > slack), t.grad_y)
        return t.value(x, y), t.grad_x(x, p)


class Torch:
    """What torch differentiates: F at the y of a layer, whose linear cost is x P."""

    def __init__(self, instance):
        import torch
        torch.set_num_threads(1)
        self.torch, self.instance = torch, instance
        self.prepare()

    def __call__(self, x):
        t, torch = self.instance, self.torch
        at = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        y = self.answer(at @ torch.tensor(t.P))
        F = torch.tensor(t.c) @ y + 0.01 * (at @ at) + 0.01 * (y @ y)
        F.backward()
        return F.item(), at.grad.numpy()

    def modelled(self, layer):
        """A layer of the lower level as CVXPY states it."""
        import cvxpy as cp
        t = self.instance
        q, y = cp.Parameter(t.dy), cp.Variable(t.dy)
        R = np.linalg.cholesky(t.Q).T
        problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(R @ y) + q @ y), [t.A @ y <= t.b])
        return layer(problem, parameters=[q], variables=[y])


class Matrices(Torch):
    """A layer that is given Q, q, A and b, as self.solve."""

    def prepare(self):
        t = self.instance
        self.data = [self.torch.tensor(a) for a in (t.Q, t.A, t.b)]
        self.solve = self.layer()

    def answer(self, q):
        Q, A, b = self.data
        none = self.torch.empty(0, dtype=self.torch.float64)
        return self.solve(Q, q, A, b, none, none)[0]


class Cvxpylayers(Torch):
    # With SCS, its default, to its own tolerance of 1e-4 the dense mode's gradients are off by 100 % at some points;
    # to 1e-7 it takes 2 to 3 s a point late in a run at d_y = 200. Clarabel takes a tenth of that everywhere.
    arguments = {"mode": "dense", "solve_method": "Clarabel"}
    name = "cvxpylayers (torch, diffcp), dense mode, Clarabel"

    def prepare(self):
        from cvxpylayers.torch import CvxpyLayer
        self.layer = self.modelled(CvxpyLayer)

    def answer(self, q):
        return self.layer(q, solver_args=self.arguments)[0]


class CvxpylayersDefault(Cvxpylayers):
    arguments = {}
    name = "cvxpylayers (torch, diffcp), as it comes"


class Qpth(Matrices):
    name = "qpth"

    def layer(self):
        from qpth.qp import QPFunction
        return QPFunction(verbose=-1, eps=1e-12, maxIter=40)


class Ffoqp(Matrices):
    """FFOLayer for quadratic programs (arXiv 2512.02494): a QP solver, then one system on the rows without slack."""
    name = "FFOLayer, quadratic (FFOQPLayer)"

    def layer(self):
        from ffolayer import FFOQPLayer
        # Of its solvers, the default is Gurobi's, and qpth's needs rows that are equations.
        return FFOQPLayer(solver="CLARABEL", slack_cutoff=1e-6,  # Clarabel does not always come to tolerances of 1e-11
                          solver_opts={"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9})


class Ffolayer(Torch):
    """FFOLayer for any convex program, which differentiates by a second, perturbed solve. SCS is the solver that it is made for
    (its options do not fit others); so it comes."""
    name = "FFOLayer, general, as it comes"

    def prepare(self):
        from ffolayer import FFOLayer
        self.layer = self.modelled(FFOLayer)

    def answer(self, q):
        return self.layer(q.reshape(1, -1))[0].reshape(-1)  # it wants a batch


class Jaxopt:
    name = "jaxopt.OSQP, implicit differentiation by GMRES"

    def __init__(self, instance):
        import jax
        jax.config.update("jax_enable_x64", True)
        import jax.numpy as jnp
        import jaxopt
        from jax.scipy.sparse.linalg import gmres
        self.jnp, t = jnp, instance
        P, Q, A, b, c = (jnp.asarray(a) for a in (t.P, t.Q, t.A, t.b, t.c))
        solver = jaxopt.OSQP(tol=1e-8, maxiter=20000,
                             implicit_diff_solve=lambda matvec, v, **_: gmres(matvec, v, tol=1e-10, restart=200)[0])

        def F(x, start):
            found = solver.run(start, params_obj=(Q, x @ P), params_ineq=(A, b))
            y = found.params.primal
            return c @ y + 0.01 * x @ x + 0.01 * y @ y, found.params

        self.F = jax.jit(jax.value_and_grad(F, has_aux=True))
        self.start = solver.init_params(jnp.zeros(t.dy), params_obj=(Q, jnp.zeros(DX) @ P), params_ineq=(A, b),
                                        params_eq=None)
        self.cold = self.start

    def __call__(self, x):
        (F, self.start), g = self.F(self.jnp.asarray(x), self.start)
        return float(F), np.asarray(g)


ALL = {c.__name__: c for c in (HandWritten, DaqpKKT, Proxsuite, Piqp, Cvxpylayers, CvxpylayersDefault, Qpth, Ffoqp, Ffolayer, Jaxopt)}
